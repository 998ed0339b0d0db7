"""Says what Kubernetes, KAI, Grove and container runtimes define: releases, GPUs, nodes, amounts, times, spellings."""

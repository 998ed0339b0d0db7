"""kubectl-tas compiles declarative GPU pools, topologies and workflows into KAI Scheduler manifests."""

__version__ = "0.1.0"

"""Where gangs would run: nodes of a cluster, or made ones, and what KAI's scheduler does with them. Pure."""

"""Computes the gangs of submissions: the PodGroups that pods will be in, and whether their queues can hold them."""

"""What both nodes run: every process adds its rank, and each sees the sum of all."""

import os

import torch
import torch.distributed as dist

dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
total = torch.tensor([dist.get_rank()], device="cuda")
dist.all_reduce(total)
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: the ranks come to {total.item()}")
dist.destroy_process_group()

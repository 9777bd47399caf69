"""Trains a model on one GPU, or on the CPU if there is none."""

import os
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

torch.manual_seed(0)
inputs = torch.randn(4096, 16)
data = TensorDataset(inputs, inputs @ torch.randn(16, 1))
loader = DataLoader(data, batch_size=64, shuffle=True)

model = nn.Linear(16, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

first = 0
checkpoint = Path(os.environ.get("CHECKPOINTS", "."), "model.pt")
if checkpoint.exists():
    saved = torch.load(checkpoint, map_location=device)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    first = saved["epoch"] + 1

for epoch in range(first, 5):
    for batch, target in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch.to(device)), target.to(device))
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch + 1}/5: loss {loss.item():.6f}", flush=True)
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
    torch.save(saved, checkpoint.with_suffix(".new"))
    checkpoint.with_suffix(".new").rename(checkpoint)

"""What each transport costs, side by side and beside TorchRL's classes."""

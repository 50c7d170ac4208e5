"""What the client and the kernels share: errors and status bits. Standard library only."""

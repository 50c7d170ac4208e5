"""What tests share: daemons, waiting, robots and cases."""

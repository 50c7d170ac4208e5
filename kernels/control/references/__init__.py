"""What a law is to follow: held until something is given, limited in speed, moved on request."""

"""What was computed is kept between runs, under the digest of all that it was computed from."""

"""What is seen of a stack: rows of W, flow, corrupted copies, one weight explained."""

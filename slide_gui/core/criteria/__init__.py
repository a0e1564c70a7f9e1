"""Criteria by which the widths are learned, one a module.

Each returns its value and the one matrix G = ∂J/∂K̃ from which every derivative follows:
∂J/∂log σ_t = 2/σ_t² Σ_ij G_ij K_ij D_t,ij and ∂J/∂log C = −(1/C) tr G.
"""

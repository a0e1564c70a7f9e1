"""Criteria by which the widths are learned, one a module.

Span, hold-out and press estimate the error itself. Radius over margin bounds it, and the bound is loose where classes
are far from separable: as every width shrinks, K → I, R² → 1 + 1/C and ‖w‖²/n → 1/(1 + 1/C), so that J → 1, which no
honest kernel of such data is below; its descent ends there, with every point a support vector.

Each returns its value and the one matrix G = ∂J/∂K̃ from which every derivative follows:
∂J/∂log σ_t = 2/σ_t² Σ_ij G_ij K_ij D_t,ij and ∂J/∂log C = −(1/C) tr G.
"""

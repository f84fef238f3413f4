"""The experiments of papers, to be repeated with other settings."""

from tcpwhy.study.adaptivity import Adaptivity, adaptivity

__all__ = ["Adaptivity", "adaptivity"]

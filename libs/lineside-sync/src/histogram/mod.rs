//! Histograms with a bounded relative error and a set of cells per thread.

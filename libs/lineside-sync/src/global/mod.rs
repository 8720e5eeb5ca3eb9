//! A read-mostly value: why there is no type of ours here.

//! A keyed table whose readers never write, with loads that happen once.

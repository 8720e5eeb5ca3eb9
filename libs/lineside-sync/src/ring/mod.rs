//! A bounded log that overwrites its oldest entry; readers have cursors and are told what they missed.

// Package diskfault gives SQLite a disk that a test holds in its hand. A store opens
// through it by the name of its VFS (sqlite.Config.VFS); production never does.
//
// There are two kinds. A [Memory] keeps its files in memory and knows which
// writes have been synced: [Memory.PowerLoss] keeps those and an arbitrary part
// of the others, torn at sectors, and [Memory.Kill] ends the process that had
// the files open. A [Files] is the file system of the machine.
//
// Both call a [Hook] before each operation, which can fail it or hold it up.
// The hook can be changed at any time.
//
// SQLite finds a VFS in a list that the whole process shares, so a disk must be
// closed, after everything that was opened through it.
package diskfault

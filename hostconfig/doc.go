// Package hostconfig finds the configuration files of desktop hosts and reads the servers in them.
// It changes the files in a way that can be undone byte for byte.
//
// [Find] lists the files, and [Read] reads one. [Document.Replace] returns the file with other
// programs in some entries, and [Document.Connect] the file with one entry in place of others.
// [Entry.Carry] converts an entry to one of Junction's, which [Document.Add] adds to Junction's
// file. Junction's own files are changed by [AddServer], [RemoveServer], [ReplaceWords] and
// [SetMember]. All other bytes stay the same: comments, order, indentation, line ends, a byte order
// mark, and unknown members. Before a change is made, the result is parsed and compared, so that a
// change can do nothing else.
//
// A new host needs a row in [Hosts], a sample of its file in the tests, and rows in docs/hosts.md.
//
// A [Journal] replaces such a file and restores it. It first stores the old and the new bytes. So a
// process that is killed at any moment leaves one or the other, and the next one can restore the
// old file. If another program changed the file meanwhile, only the entries are restored.
package hostconfig

// Package hostconfig finds the configuration files of desktop hosts and reads the servers in them.
// It can change such a file and undo the change byte for byte.
//
// [Find] lists the files, and [Read] reads one. [Document.Replace] returns the file with the
// programs of some entries replaced. [Document.Connect] returns the file with one entry in place of
// others. [Entry.Carry] converts an entry to one for Junction's files, and [Document.Add] adds such
// entries to a file. [AddServer], [RemoveServer], [ReplaceWords] and [SetMember] change Junction's
// own files. All other bytes stay the same: comments, order, indentation, line ends, a byte order
// mark, and unknown members. To ensure that, the changed file is parsed and compared with the
// intended content before it is written.
//
// A new host needs a row in [Hosts], a sample of its file in the tests, and rows in docs/hosts.md.
//
// A [Journal] replaces a file and restores it. It first stores the old and the new content, so a
// process that is killed leaves either the one or the other, and the next process can restore the
// file. If another program has changed the file since, only the changed entries are restored.
package hostconfig

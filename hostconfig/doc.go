// Package hostconfig finds the configuration files of desktop hosts, reads the servers in them, and changes them so that it can be
// undone byte for byte.
//
// [Find] says which files there are, [Read] reads one, and [Document.Replace] makes the file in which some entries start
// another program, [Document.Connect] the one in which one entry stands in the place of others, and [Entry.Carry] makes an entry one of
// Junction's own, which [Document.Add] writes. Junction's own files are changed by [AddServer], [RemoveServer], [ReplaceWords] and [SetMember]. Only the bytes of what is changed are other bytes then: comments, order, indentation, line ends, a byte
// order mark, and members that mean nothing here stay as they are. A change that would do anything else is not made: what
// was written is read again and compared first.
//
// A host that is not there yet needs a row in [Hosts], a sample of its file in the tests, and rows in docs/hosts.md.
//
// A [Journal] puts such a file in place of the one that is there, and takes it back. Before it writes it keeps the bytes of
// both, so that a process that is killed at any moment leaves one or the other, and the next one can take it back. Where
// somebody else changed the file meanwhile, only the entries are put back.
package hostconfig

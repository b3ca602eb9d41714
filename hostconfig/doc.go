// Package hostconfig finds the configuration files of desktop hosts, and changes entries of servers in them so that it can be
// undone byte for byte.
//
// [Find] says which files there are, [Read] reads one, and [Document.Replace] makes the file in which some entries start
// another program. Only the bytes of what is changed are other bytes then: comments, order, indentation, line ends, a byte
// order mark, and members that mean nothing here stay as they are. A change that would do anything else is not made: what
// was written is read again and compared first.
//
// A host that is not there yet needs a row in [Hosts], a sample of its file in the tests, and a row in docs/tap.md.
//
// A [Journal] puts such a file in place of the one that is there, and takes it back. Before it writes it keeps the bytes of
// both, so that a process that is killed at any moment leaves one or the other, and the next one can take it back. Where
// somebody else changed the file meanwhile, only the entries are put back.
package hostconfig

// Package install installs packages of MCP servers on this machine: exactly the bytes that were
// locked.
//
// [Store.Resolve] finds the exact version of a package, its integrity and its dependencies, and
// returns a [Locked]. [Store.Install] installs that into a folder of the store, with the user's
// package manager, so that its registry, proxy and login apply. It checks all bytes, and runs code
// of the package only with the user's permission. [Store.Open] then returns how to start the
// program, without package manager or network.
//
// Folders are named by a hash of the locked data. Each is made in a temporary folder and renamed,
// so that a killed process leaves nothing half done. If two processes want the same package, one
// installs it and the other waits.
//
// Each type of packages is a kind in a file of its own. They share program.go, which runs package
// managers and sends HTTP requests to registries. oci.go also keeps archives and unpack.go unpacks
// them; install.go compares versions.
package install

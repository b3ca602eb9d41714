// Package install installs packages of MCP servers on this machine, with exactly the locked bytes.
//
// [Store.Resolve] finds the exact version of a package, its integrity and its dependencies, and
// returns a [Locked]. [Store.Install] installs that into a folder of the store, with the user's
// package manager, so that its registry, proxy and login apply. It checks all bytes, and runs code
// of the package only with the user's permission. [Store.Open] then returns the command line of the
// program, which needs neither package manager nor network.
//
// The name of a folder contains a hash of the locked data. Each folder is built under a temporary
// name and renamed, so that a killed process leaves no incomplete package. If two processes want
// the same package, one installs it while the other waits.
//
// Each type of package is a kind with a file of its own. The kinds share program.go, which runs
// package managers and sends HTTP requests to registries. Archives are stored by oci.go and
// unpacked by unpack.go; install.go compares versions.
package install

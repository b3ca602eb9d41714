// Package install puts packages of MCP servers on this machine: exactly the bytes that were locked.
//
// [Store.Resolve] finds a package's exact version, its integrity and its dependencies, and returns a [Locked]. [Store.Install] puts that into a
// folder of the store, through the person's own package manager (so their registry, proxy and login hold), checks all bytes, and runs no code of the
// package but where the person allowed it. [Store.Open] then says how the program is started, with no package manager and no network.
//
// Content lies in folders that are named by what is locked. It is made in a temporary folder and renamed, so that a process that is killed leaves
// nothing half; of two processes that want the same, one installs and the other waits.
//
// Each type of packages is a kind in a file of its own. What several kinds need: their package managers are run by command.go, and asked over HTTP by
// web.go; archives are kept by blobs.go and unpacked by unpack.go; program.go says how what lies in a folder is started, version.go which version is newer.
package install

// Package sandbox confines programs: it limits which files they read and write and which hosts they
// reach.
package sandbox

// Package sandbox confines programs: what they may read, write and reach.
package sandbox

// Package apikey authenticates clients of an HTTP endpoint by keys that whoever runs it gives out. The file of
// keys holds hashes only, so that who reads it cannot call anything.
package apikey

// Package server has the commands that install, change and publish servers: add, upgrade, remove,
// search, info, outdated, sandbox and publish.
package server

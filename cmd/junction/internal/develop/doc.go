// Package develop has the commands for authors of servers: test, lint, proxy, serve and replay.
package develop

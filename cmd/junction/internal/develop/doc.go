// Package develop has the commands for those who write servers: test, lint, proxy, serve and replay.
package develop

// Package account has the commands that log the user in and store secrets: login, logout, whoami
// and secret.
package account

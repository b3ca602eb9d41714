// Package account has the commands for logins and stored secrets: login, logout, whoami and secret.
package account

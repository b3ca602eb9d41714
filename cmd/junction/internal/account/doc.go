// Package account has the commands that log the user in and keep secrets: login, logout and secret.
package account

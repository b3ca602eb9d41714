// Package statetest tests implementations of [state.Shared].
package statetest

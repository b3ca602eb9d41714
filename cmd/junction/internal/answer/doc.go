// Package answer answers the requests that servers send during a call. It answers elicitation with
// a form on the terminal, sampling with a fixed text, and roots with the folders named by flags.
package answer

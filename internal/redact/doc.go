// Package redact hides secrets in errors, logs, displayed messages, recordings and traces, and in
// command lines and URLs that a user must approve.
//
// It contains the only list of sensitive names ([Named], [Certain]), the only table of token types
// ([Tokens]) and the only detectors of secrets in texts ([Find], [Hide]). It also hides secrets in
// URLs and command lines ([URL], [URI], [Arguments]); it hides URLs and arguments that it cannot
// parse completely. In doubt it hides a value. But it cannot find every secret: a value without a
// sensitive name or a recognizable form stays visible.
package redact

// Package redact hides secrets in errors, logs, watched messages, recordings and traces, and in the
// command lines and URLs shown to a user for approval.
//
// It has the only list of names ([Named], [Certain]), the only table of tokens ([Tokens]) and the
// only detectors of secrets in texts ([Find], [Hide]). It also handles the parts of URLs and
// command lines that carry secrets ([URL], [URI], [Arguments]). It hides URLs and arguments that it
// cannot parse. It hides too much rather than too little, but proves nothing: a word without a
// telling name or form stays.
package redact

// Package redact hides secrets: in errors, logs, messages that are watched, recordings and traces, and in command lines and
// URLs before a user agrees to them.
//
// It has the only list of names ([Named], [Certain]), the only table of tokens ([Tokens]) and the only detectors of secrets in
// texts ([Find], [Hide]), and knows the parts of URLs and command lines in which secrets are passed ([URL], [URI],
// [Arguments]). A URL or argument that it cannot read it hides. It hides too much rather than too little, but it proves nothing:
// a word that neither its name nor its looks give away stays as it is.
package redact

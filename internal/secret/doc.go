// Package secret hides what should not be shown of a command line, a URL or
// anything else with a name: in errors, in logs, and before a person who is
// asked to agree.
//
// It goes by names ([Named]), by how well-known tokens begin ([Looks]), and by
// the parts of URLs and command lines in which secrets are passed ([URL], [URI],
// [Arguments]). What it cannot read it hides. It rather hides too much than too
// little, but it is no proof: a word that neither its name nor its looks give
// away stays as it is.
package secret

// Package markdown shows Markdown in a terminal, also while it is still being
// written.
//
// It knows CommonMark with tables, task lists and strikethrough. HTML is shown as
// the text it is, and a link with the address it leads to, so that nobody follows
// a name. Reference links are not resolved: their definition may come after the
// text is on the screen.
//
// [Render] shows a whole text. A [Stream] takes it in pieces and gives away what
// is finished, part by part; the parts are the same however the text was cut, and
// together they are what Render shows.
package markdown

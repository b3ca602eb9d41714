package cli

// HelpWidth is how many columns help takes.
const HelpWidth = 80

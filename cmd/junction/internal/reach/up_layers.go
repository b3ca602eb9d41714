package reach

// ReviewNone offers tools whatever their definitions are.
const ReviewNone = "none"

// usualFolder is what --audit alone means.
const usualFolder = "default"

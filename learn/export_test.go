package learn

// Exp is exp.
var Exp = exp

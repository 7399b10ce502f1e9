package lab

// ScaledUrgency is for tests of what it does in instants of any length.
var ScaledUrgency = scaledUrgency

// Sends the form of the page on; without scripts its button does.
document.getElementById('answer').submit()

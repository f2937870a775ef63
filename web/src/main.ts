document.body.dataset["ready"] = "";

import "./views/page";

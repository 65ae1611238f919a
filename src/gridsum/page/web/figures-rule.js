"use strict";
gridsum.figures = [];

(* Tables and certificates as lists, the form that they are written down in. *)

From Coq Require Import List Arith.
From Gridsum Require Import Grid Rule Check.
Import ListNotations.

(* Symbols are numbered: digits by their value, then the sign, then nothing. *)
Definition symbol_number (B : nat) (x : symbol) : nat :=
  match x with Some (Digit d) => d | Some _ => B | None => S B end.
(* Letters: the blank, digits, the sign, [=]. *)
Definition letter_number (B : nat) (l : letter) : nat :=
  match l with Pad => 0 | Digit d => S d | Plus => S B | Equals => S (S B) end.
(* Neighbours: states by their number, then outside. *)
Definition side_number (n : nat) (c : option nat) : nat := match c with Some c => c | None => n end.
Definition kind_number (k : kind) : nat :=
  match k with
  | Cell false WithDigit => 0 | Cell false WithPlus => 1 | Cell false WithNothing => 2
  | Cell true WithDigit => 3 | Cell true WithPlus => 4 | Cell true WithNothing => 5
  | Ground => 6
  end.

(* [steps] by symbol, right, below, left; [readings] by state; [actions] by letter. What is missing is no state. *)
Definition table_of (B n : nat) (steps : list (list (list (list nat)))) (readings : list (option nat))
    (actions : list action) : table := {|
  size := n;
  next := fun x right below =>
    let row := nth (side_number n below) (nth (side_number n right) (nth (symbol_number B x) steps []) []) [] in
    fun left => nth (side_number n left) row n;
  reads := fun c => nth c readings None;
  act := fun l => nth (letter_number B l) actions Skip;
|}.

(* [meanings] by kind and state. *)
Definition certificate_of (meanings : list (list (option meaning))) (ground corner : list bool) : certificate := {|
  meaning_of := fun k c => nth c (nth (kind_number k) meanings []) None;
  ground := fun c => nth c ground false;
  corner := fun c => nth c corner false;
|}.
